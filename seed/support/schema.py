"""The tables of the support desk."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Date,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
)

METADATA = MetaData(schema="support")

Table(
    "customers",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", String, nullable=False),
    Column("email", String, nullable=False),
    Column("phone", String, nullable=False),
    Column("plan", String, nullable=False),
    Column("region", String, nullable=False),
    Column("created_at", DateTime, nullable=False),
    Column("churned_at", DateTime),
)

Table(
    "agents",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", String, nullable=False),
    Column("team", String, nullable=False),
    Column("email", String, nullable=False),
    Column("phone", String, nullable=False),
    Column("hired_at", Date, nullable=False),
    Column("left_at", Date),
)

Table(
    "sla",
    METADATA,
    Column("priority", String, primary_key=True),
    Column("target_minutes", Integer, nullable=False),
    Column("response_target_minutes", Integer, nullable=False),
)

Table(
    "tickets",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("customer_id", Integer, ForeignKey("support.customers.id"), nullable=False),
    Column("agent_id", Integer, ForeignKey("support.agents.id"), nullable=False),
    Column("channel", String, nullable=False),
    Column("category", String, nullable=False),
    Column("initial_priority", String, nullable=False),
    Column("priority", String, ForeignKey("support.sla.priority"), nullable=False),
    Column("status", String, nullable=False),
    Column("opened_at", DateTime, nullable=False),
    Column("closed_at", DateTime),
    Column("elapsed_minutes", Integer, nullable=False),
    Column("waiting_minutes", Integer, nullable=False),
    Column("resolution_minutes", Integer),
    Column("first_reply_minutes", Integer),
    Column("first_response_minutes", Integer),
    Column("agent_replies", Integer, nullable=False),
    Column("reopen_count", Integer, nullable=False),
    Column("escalation_level", Integer, nullable=False),
)

Table(
    "team_months",
    METADATA,
    Column("team_name", String, primary_key=True),
    Column("closed_month", Date, primary_key=True),
    Column("closed_tickets", Integer, nullable=False),
    Column("avg_duration_minutes", Float, nullable=False),
)
