import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startServe, temporaryDatabase } from '../support/process.ts'

const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')

test('the two commands come first', () => {
  const [first] = readme.match(/```sh\n(.*?)```/s)!.slice(1)

  expect(first).toMatch(/^npm ci && npm start .*\nnpm ci && npm test .*\n$/)
})

test('the tour works as written, with another address', async () => {
  const database = temporaryDatabase()
  const server = await startServe('node', { DATABASE_URL: database.url })
  try {
    const { stdout, stderr, status } = spawnSync('bash', ['-euo', 'pipefail', '-c', tour(server.url)], {
      encoding: 'utf8',
      // If its input is a socket, bash thinks that it is a remote shell and reads the startup files of the machine.
      stdio: ['ignore', 'pipe', 'pipe'],
    })

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('What is 6 times 7?')
    expect(stdout).toContain('"state":"completed"')
    expect(stdout).toContain('"text":"42"')
  } finally {
    await server.stop()
    database.remove()
  }
})

/** The shell blocks of the tour up to the demo, for a server at `url`. */
function tour(url: string): string {
  const section = readme.split('## Five minutes with curl')[1].split('`npm run -s grid -- demo`')[0]
  const blocks = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block)
  return blocks.join('\n').replace('http://localhost:8787', url)
}
