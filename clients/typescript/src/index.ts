/** Submit, claim and settle tasks of ramet from TypeScript. No dependency: it needs only `fetch`. */
export * from "./client.ts";
export * from "./worker.ts";
export type * from "./types.ts";
