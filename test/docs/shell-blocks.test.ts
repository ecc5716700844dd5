/** Every shell block in the documents runs as printed, or names the other machine it needs. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { documents } from '../../scripts/docs.ts'
import { runCommand } from '../support/process.ts'
import { type PageShell, pageShell } from './page-shell.ts'
import { shellBlocksOf } from './shell-blocks.ts'

/**
 * The variables `$grid`, `$account`, `$admin`, `$alice` and `$bob` of the pages, and helper commands for the scripts
 * below.
 */
let variables: string
let template: string
beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'agent-grid-page-data-'))
  const command = async (...words: string[]) => {
    const { code, stdout, stderr } = await runCommand('node', [...words, '--json'], {
      DATABASE_URL: `file:${template}/grid.db`,
    })
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout)
  }
  const owner = ['--name', 'Acme', '--owner-email', 'ann@acme.example']
  const { account_id: account, admin_key: admin } = await command('create-account', ...owner, '--new')
  const agents: string[] = []
  for (const alias of ['alice', 'bob', 'worker']) {
    const { api_key: key } = await command('create-agent', '--account', account, '--alias', alias)
    agents.push(`${alias}=${key}`)
  }
  variables = `grid=http://localhost:8787 account=${account} admin=${admin} ${agents.join(' ')}
field() { node -pe "JSON.parse(require('fs').readFileSync(0, 'utf8')).$1"; }
post() { curl -s "$grid$1" -H "Authorization: Bearer $2" -H 'Content-Type: application/json' -d "$3"; }
`
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

/** Scripts that create the data that a page's blocks expect. */
const before: Record<string, string> = {
  // The copy that an upgrade makes. Its name ends with a version number.
  'docs/operating/upgrades.md': 'export BACKUP_KEY=enough-for-a-test; cp data/grid.db data/grid.db.schema-N',
  'docs/runners.md': `export AGENT_GRID_URL=$grid AGENT_GRID_KEY=$worker
export HAS_RUN="curl -s $grid/api/v1/inbox -H 'Authorization: Bearer $alice' | grep 'You wrote: hello'"
post /api/v1/messages "$alice" '{"to": "@worker", "message": "hello"}'`,
  'docs/protocol/a2a.md':
    `a2a() { post /a2a/v1/grid "$alice" '{"jsonrpc": "2.0", "id": 1, "method": "'$1'", "params": '"$2}"; }
task=$(a2a message/send '{"message": {"kind": "message", "messageId": "1", "role": "user",
  "parts": [{"kind": "text", "text": "hello"}], "metadata": {"to": "@bob"}}}' | field result.taskId)
a2a tasks/cancel '{"id": "'$task'"}'`,
  'docs/protocol/rest.md': `for text in 1 2 3; do
  post /api/v1/messages "$alice" '{"to": "@bob", "message": "'$text'"}'
done
lease=$(post /api/v1/inbox/leases "$bob" '{"limit": 1}' | field lease_id)`,
}

const pages = documents().map((name) => ({ name, text: readFileSync(name, 'utf8') }))
const withBlocks = pages.map(({ name, text }) => ({ name, ...shellBlocksOf(text) }))
  .filter(({ name, blocks }) => blocks.length > 0 && name !== 'README.md')

let shell: PageShell | undefined
async function shellWith(data?: string): Promise<PageShell> {
  shell?.close()
  return shell = await pageShell(data)
}
afterAll(() => shell?.close())

test('every code block in the documents either runs in a shell, names the machine that it needs, or is not for a shell', () => {
  const faults = pages.flatMap(({ name, text }) => shellBlocksOf(text).faults.map((fault) => `${name}, ${fault}`))

  expect(faults).toEqual([])
})

test('the README begins with its two commands, and all its blocks run twice on one grid', async () => {
  const readme = shellBlocksOf(readFileSync('README.md', 'utf8')).blocks
  const page = await shellWith()

  const twice = [await page.run(readme), await page.run(readme)]

  expect(readme[0].text).toMatch(/^npm ci && npm start .*\nnpm ci && npm test .*\n$/)
  for (const { status, output } of twice) {
    expect(status, output).toBe(0)
    expect(output).toMatch(/"message_id":".*"recipient":"@ben-\d+"/)
    expect(output).toMatch(/Open http:\/\/localhost:\d+\/claim\/\S+$/m)
  }
})

test.each(withBlocks)('the shell blocks of $name run as printed', async ({ name, blocks }) => {
  const page = await shellWith(template)

  const { status, output } = await page.run(blocks, variables + (before[name] ?? ''))

  expect(status, `${name}:\n${output}`).toBe(0)
  if (name !== 'docs/protocol/tour.md') return
  for (const said of ['What is 6 times 7?', '"state":"completed"', '"text":"42"']) expect(output).toContain(said)
})

test.each([
  ['a block that is neither run nor marked', '```bash\nls\n```\n', 'line 1: "bash" is neither "sh" nor one of '],
  ['a fence without a language', 'x\n```\nls\n```\n', 'line 2: "" is neither "sh" nor one of '],
  ['a mark without a reason', '```sh other-machine\nls\n```\n', 'line 1: other-machine needs a reason'],
  ['another mark', '```sh skip\nls\n```\n', 'line 1: "sh skip" is neither "sh", '],
  ['a command in a text', '```text\n$ ls\na\n```\n', 'line 1: a command with its output'],
  ['a fence that is not closed', '```sh\nls\n', 'a fence is not closed'],
  ['a fence of another form', '~~~sh\nls\n~~~\n', 'a fence is not closed, or not written with ```'],
])('a page with %s is an error', (_, page, fault) => {
  expect(shellBlocksOf(page).faults).toEqual([expect.stringContaining(fault)])
})

test('a block in a list runs without its indentation, and a block for another machine has its reason', () => {
  expect(shellBlocksOf('1. x\n   ```sh stopped\n   ls\n\n   pwd\n   ```\n```sh other-machine a Docker\nls\n```\n'))
    .toEqual({
      blocks: [{ line: 2, text: 'ls\n\npwd\n', isStopped: true }],
      elsewhere: ['a Docker'],
      faults: [],
    })
})

test.each([
  ['a command that fails', 'false'],
  ['a command that is not there', 'agent-gird help'],
  ['a variable that nobody set', 'echo $nobody'],
  ['a failure in a pipe', 'account=$(false | cat)'],
  ['a refusal of the grid', `echo '{"error":{"code":"x"}}' > e; curl -s "file://$PWD/e"`],
  ['a tool that refuses', `echo '{"result":{"isError": true}}' > e; answer=$(curl -s "file://$PWD/e"); echo`],
])('a page fails at the block with %s', async (_, text) => {
  const page = await shellWith()

  const { status, output } = await page.run([
    { line: 1, text, isStopped: true },
    { line: 5, text: 'echo', isStopped: true },
  ])

  expect(status).not.toBe(0)
  expect(output).toMatch(/^# line 1\n/)
  expect(output).not.toContain('# line 5')
})
