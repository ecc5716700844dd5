/** Grids that do not respond. In Bun, request timeouts do not fire, and response timeouts fire at the wrong time. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { runtimeBinary } from '../../scripts/other-runtime.js'
import { outputOf } from '../../scripts/run-program.ts'

/** Follows a wake stream with a timeout of 0.9 s between frames, and prints how it ends. */
const program = `
import { GridClient } from ${JSON.stringify(new URL('../../src/clients/grid-client.ts', import.meta.url).href)}
let events = 0
try {
  for await (const event of new GridClient({ url: process.argv.at(-1), key: 'k', timeoutMs: 600 }).wakeStream()) events++
  console.log(events, 'ended')
} catch (error) {
  console.log(events, error.message)
}
process.exit(0)`

const runtimes: [string, string[]][] = [
  ['node', [process.execPath, '--import', 'tsx', '--input-type=module', '--eval', program]],
  ['bun', [runtimeBinary('bun'), '--eval', program]],
]

/** Follows the stream of a server that hangs immediately or after some frames. Returns the program's output. */
async function follow(words: string[], hang: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => hang(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const output = await outputOf(spawn(words[0], [...words.slice(1), url], { stdio: ['ignore', 'pipe', 'pipe'] }))
  server.closeAllConnections()
  server.close()
  return output.trim()
}

test.each(runtimes)('on %s, a call to a grid that does not respond times out', async (_, words) => {
  expect(await follow(words, () => {})).toMatch(/^0 .*The grid did not answer in time/)
})

test.each(runtimes)(
  'on %s, a stream continues while frames arrive, and ends when none arrives in time',
  async (_, words) => {
    const output = await follow(words, (response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      let frames = 0
      const timer = setInterval(() => {
        response.write(': heartbeat\n')
        if (++frames === 12) clearInterval(timer)
      }, 100)
    })

    expect(output).toMatch(/^12 .*The stream has gone silent/)
  },
)
