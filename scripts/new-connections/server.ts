/**
 * A server whose answers take a millisecond of processor time, on `PORT`: `listen` with our `listen()`, `bare` with the
 * server of the runtime as it is. Runs on each runtime.
 */
import { createAdaptorServer } from '@hono/node-server'
import process from 'node:process'
import { listen } from '../../src/listen.ts'

const workMs = 1

async function answer(request: Request): Promise<Response> {
  if (request.url.endsWith('/healthz')) return Response.json({ status: 'ok' })
  await request.text()
  const until = performance.now() + workMs
  while (performance.now() < until);
  return Response.json({ done: true })
}

const port = Number(process.env.PORT)
const host = '127.0.0.1'
/** The part of the other runtimes that this file uses. */
interface OtherRuntime {
  serve(options: { port: number; hostname: string; fetch?: typeof answer }, handler?: typeof answer): unknown
}

const { Deno, Bun } = globalThis as { Deno?: OtherRuntime; Bun?: OtherRuntime }
if (process.argv[2] !== 'bare') void listen(answer, { port, host })
else if (Deno) Deno.serve({ port, hostname: host }, answer)
else if (Bun) Bun.serve({ port, hostname: host, fetch: answer })
else createAdaptorServer({ fetch: answer }).listen(port, host)
