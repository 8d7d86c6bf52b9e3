"""The pages about operating: what holds work back, who does it, what people set and did."""

from ramet.web.page import Page
from ramet.web.pages import alerts, flow, kept, paths

PAGES: tuple[Page, ...] = (*paths.PAGES, *flow.PAGES, *alerts.PAGES, *kept.PAGES)
