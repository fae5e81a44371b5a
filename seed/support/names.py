"""Names that people of the support desk are given."""

from __future__ import annotations

FIRST = (
    "Amara Anton Beatriz Bilal Carmen Chidi Dagny Darius Elif Emil Farah Felix "
    "Gita Goran Hana Hugo Ines Ivo Jana Joaquin Kaia Kenji Leila Lucas Mira "
    "Mateo Nadia Noam Olga Omar Petra Quentin Rania Rafael Sanna Stefan Tamar "
    "Tomas Uma Viktor Wanda Yusuf Zoe"
).split()

LAST = (
    "Abara Almeida Becker Castillo Dahl Eriksen Fontaine Grigorov Haddad Ibarra "
    "Jansen Kowalski Lindqvist Moreau Nakamura Okafor Petrov Quiroga Rahman "
    "Sorensen Takeda Ueda Varga Weiss Yilmaz Zeller"
).split()

COMPANY_HEADS = (
    "Alder Basalt Cobalt Delta Ember Fjord Granite Harbor Indigo Juniper Kestrel "
    "Lumen Meridian Northwind Onyx Pinnacle Quarry Ridge Summit Tundra"
).split()

COMPANY_TAILS = (
    "Analytics Bakery Clinics Design Energy Foods Freight Games Labs Logistics "
    "Media Motors Networks Optics Outfitters Press Robotics Studios Travel Works"
).split()
