"""A crawl over four pages that all link to each other: each is visited once, and every refusal says why."""

import asyncio

from ramet import App, Context, Worker

PAGES = {"home": ["news", "about"], "news": ["home", "about", "archive"], "about": ["home"], "archive": ["news"]}
app = App()


@app.task("page", key=str)
async def page(ctx: Context, title: str) -> int:
    for link in PAGES[title]:
        ctx.spawn(page, link)
    return len(PAGES[title])


async def main() -> None:
    async with app.client("quickstart.db") as client:
        root = await client.submit(page, "home")
        await Worker(app, client, until_idle=True).run()
        for task in (await client.tasks(tracking_id=root.tracking_id)).tasks:
            print(f"{task.state} {task.key!r} at depth {task.spawn_depth}: {task.result} links")
        for block in await client.blocks(root.tracking_id):
            print(f"blocked {block.count} x {block.key!r}, {block.reason}: {block.detail}")


asyncio.run(main())
