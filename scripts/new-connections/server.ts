/** A server on `PORT` whose responses take a millisecond of processor time. It runs on each runtime. */
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

void listen(answer, { port: Number(process.env.PORT), host: '127.0.0.1' })
