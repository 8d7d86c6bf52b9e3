"""The pages about operating: what holds work back, who does it, what people set and did."""

from ramet.web.page import Page
from ramet.web.views import administration, alerts, flow, paths

PAGES: tuple[Page, ...] = (*paths.PAGES, *flow.PAGES, *alerts.PAGES, *administration.PAGES)
