import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startServe, temporaryPlace } from '../support/process.ts'

const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')

test('the two commands come first', () => {
  const [first] = readme.match(/```sh\n(.*?)```/s)!.slice(1)

  expect(first).toMatch(/^npm ci && npm start .*\nnpm ci && npm test .*\n$/)
})

test('the tour works as it stands, but for the address', async () => {
  const place = temporaryPlace()
  const server = await startServe('node', { DATABASE_URL: place.url })
  try {
    const { stdout, stderr, status } = spawnSync('bash', ['-euo', 'pipefail', '-c', tour(server.url)], {
      encoding: 'utf8',
      // With a socket as its input, bash takes itself for a remote shell and reads the machine's own start files.
      stdio: ['ignore', 'pipe', 'pipe'],
    })

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('Message delivered to @bob-tour')
    expect(stdout).toContain('What is 6 times 7?')
    expect(stdout).toContain('\\"user\\":\\"@bob-tour\\",\\"type\\":\\"agent\\",\\"message\\":\\"42\\"')
  } finally {
    await server.stop()
    place.remove()
  }
})

/** The shell blocks of the tour up to the demo, for a server at `url`. */
function tour(url: string): string {
  const section = readme.split('## Five minutes with curl')[1].split('`npm run -s grid -- demo`')[0]
  const blocks = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block)
  return blocks.join('\n').replace('http://localhost:8787', url)
}
