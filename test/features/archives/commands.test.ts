/** `agent-grid export-account` and `import-account`, with and without a running server. */
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand, type Runner, startServe, temporaryDatabase } from '../../support/process.ts'
import { seedAgents } from '../../support/seed-agents.ts'
import { useDatabase } from '../../support/use-database.ts'
import { callTool } from '../../e2e/client.ts'

const database = useDatabase()

async function run(runner: Runner, url: string, ...words: string[]) {
  const { stdout, stderr } = await runCommand(runner, [...words, '--json'], { DATABASE_URL: url })
  if (!stdout.startsWith('{')) throw new Error(stderr)
  return JSON.parse(stdout)
}

test('an account moves from a server on Node to one on Bun, in a file that only its owner may read', async () => {
  const { agents: [ada, ben] } = await seedAgents(database.url, ['ada', 'ben'])
  const other = temporaryDatabase()
  await seedAgents(other.url, ['cora'])
  const servers = [
    await startServe('node', { DATABASE_URL: database.url }),
    await startServe('bun', { DATABASE_URL: other.url }),
  ]
  await callTool(servers[0].url, ada.key, 'send_message', { to: ben.alias, message: 'to be moved' })
  const { accounts: [{ account_id: account }] } = await run('bun', database.url, 'list-accounts')
  const [file, key] = [join(database.folder, 'acme.archive'), join(database.folder, 'phrase')]
  writeFileSync(key, 'a long passphrase')

  const made = await run('deno', database.url, 'export-account', file, '--account', account, '--key-file', key)
  expect(made).toMatchObject({ file, encrypted: true })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await run('bun', database.url, 'export-account', file, '--account', account)).toMatchObject({
    error: { code: 'file_exists' },
  })
  const importing = ['import-account', file, '--fingerprint', made.fingerprint]
  expect(await run('bun', other.url, ...importing)).toMatchObject({ error: { code: 'wrong_key' } })
  const { keys, invitations } = await run('node', other.url, ...importing, '--key-file', key)

  expect(keys.map(({ alias }: { alias: string }) => alias)).toEqual(['ada', 'ben'])
  expect(invitations).toMatchObject([{ email: 'ann@acme.example', role: 'owner' }])
  const [inbox] = [await callTool(servers[1].url, keys[1].api_key, 'read_messages', {})]
  expect(JSON.stringify(inbox)).toContain('to be moved')
  await Promise.all(servers.map((server) => server.stop()))
  expect(await run('bun', other.url, ...importing, '--key-file', key)).toMatchObject({ error: { code: 'names_taken' } })
  other.remove()
})

test('an account of a stopped grid can be exported', async () => {
  await seedAgents(database.url, ['ada'])
  const { accounts: [{ account_id: account }] } = await run('bun', database.url, 'list-accounts')
  const file = join(database.folder, 'acme.archive')

  expect(await run('bun', database.url, 'export-account', file, '--account', account)).toMatchObject({
    encrypted: false,
  })
})
