/** A server that disconnects idle connections after 4 s, for `idle-answers.test.ts`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { listen } from '../../src/listen.ts'

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname === '/late') {
    await sleep(14_000)
    return new Response('late')
  }
  // A response larger than the operating system buffers for a client that does not read.
  return new Response(new Uint8Array(64 * 2 ** 20))
}

const { port } = await listen(answer, { port: 0, host: '127.0.0.1', maxStallMs: 4_000 })
console.log(`http://127.0.0.1:${port}`)
