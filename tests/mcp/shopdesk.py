"""A small shop: its personas, tables, configuration and catalog; and HTTP."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from pytest_dataeval.mcp.personas import Persona

ALICE = Persona("alice", ("Data.Analyst",), frozenset({"shop.staff.email"}))
CAROL = Persona("carol", ("Data.Finance",))
BOB = Persona("bob")

TABLES = """
create schema shop;
create table shop.staff (id integer, name varchar, team varchar, email varchar);
insert into shop.staff values
    (1, 'Ann', 'Frontline', 'ann@example.com'), (2, 'Bo', 'Billing', 'bo@example.com');
create table shop.orders (id integer, staff_id integer, minutes integer,
    price decimal(8, 2), placed_on date);
insert into shop.orders
    select i, i % 2 + 1, 10 * i, 1.25 * i, date '2026-01-01' from range(1, 11) t(i);
"""

CONFIG = """
warehouses:
  shop: {url: "duckdb:///desk.duckdb", schemas: [shop]}
catalogs:
  shop: {file: catalog.yaml}
personas:
  alice: {roles: [Data.Analyst], withheld: [shop.staff.email]}
  carol: {roles: [Data.Finance]}
  bob: {}
"""

CATALOG = """
service: shopdesk
tables:
  - name: shop.staff
    description: Everyone who packs an order.
    synonyms: [packers]
    columns:
      - {name: id, type: INTEGER, description: Key of the person.}
      - {name: name, type: VARCHAR}
      - {name: team, type: VARCHAR, description: Group of packers.}
      - {name: email, type: VARCHAR, description: Private address, tags: [PII]}
  - name: shop.orders
    description: One row for each order placed.
    columns:
      - {name: id, type: INTEGER}
      - {name: staff_id, type: INTEGER, description: Who packed it.}
      - {name: minutes, type: INTEGER, description: Wall-clock time until shipped.}
      - {name: price, type: "DECIMAL(8,2)", description: Net price.}
terms:
  - name: Packing Time
    description: Wall-clock minutes until the parcel leaves, idle time included.
    synonyms: [handling time]
    columns: [shop.orders.minutes]
    related: [Mean Packing Time]
    filter: minutes > 0
  - name: Staff Contact
    description: How to reach a packer in private.
    columns: [shop.staff.email]
metrics:
  - name: Mean Packing Time
    description: The average packing time of shipped orders.
    expression: avg(minutes)
    table: shop.orders
    filter: minutes > 0
    unit: minutes
    type: average
    granularity: [team]
    terms: [Packing Time]
    synonyms: [average handling]
  - name: Reachable Staff
    description: People with a private address.
    expression: count(email)
    table: shop.staff
joins:
  - {from: shop.orders.staff_id, to: shop.staff.id}
  - {from: shop.orders.id, to: shop.staff.email}
lineage:
  - {from: shop.orders.minutes, to: shop.staff.team}
  - {from: shop.staff.email, to: shop.staff.name}
"""


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an ASGI application on a free port; gives the URL of its `/mcp`."""
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join()
