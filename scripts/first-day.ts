/**
 * `npm run lab -- first-day --with binary|package`: the first day of an operator who has only the binary or the npm
 * package, in an empty folder. Builds the program, sets the grid up in Chromium, exchanges messages, backs up, kills
 * the server, removes the database, restores, and runs the doctor. Prints the steps with their times.
 *
 * See docs/contributing.md, "Releases".
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { freePort } from '../src/lib/free-port.ts'
import { callTool } from '../test/e2e/client.ts'
import { hasBrowser, launchChromium } from '../test/support/chromium.ts'
import { Steps } from './clients/client-process.ts'
import { Program, type Server } from './first-day/program.ts'
import type { Result } from './run-program.ts'

const usage = `npm run lab -- first-day --with binary|package [--file FILE]

  --with  what the operator has: the single binary, or the packed npm package
  --file  that file; without it, it is built first`

const question = 'What is 6 times 7?'
const answer = '42'
const backupKey = { BACKUP_KEY: 'correct horse battery' }

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { with: { type: 'string' }, file: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help || (values.with !== 'binary' && values.with !== 'package')) {
    console.log(usage)
    process.exitCode = values.help ? 0 : 2
    return
  }
  if (!hasBrowser) throw new Error('Chromium is needed: install it, or set CHROMIUM to its path.')
  // The folder is outside the repository, because Node would find the repository's packages.
  const root = mkdtempSync(join(tmpdir(), 'agent-grid-first-day-'))
  const steps = new Steps()
  try {
    await firstDay(new Program(values.with, root, await freePort()), values.file, steps)
  } finally {
    console.table(steps.all.map(({ what, seconds }) => ({ step: what, seconds: Number(seconds.toFixed(2)) })))
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  }
  console.log(`The first day with the ${values.with} went well: ${steps.seconds.toFixed(1)} s.`)
}

async function firstDay(program: Program, given: string | undefined, steps: Steps): Promise<void> {
  const { url } = program
  const file = given ?? await steps.take(`npm run lab -- ${program.kind}`, () => program.build())
  await steps.take(
    `${program.kind === 'binary' ? 'copy' : 'npm install'} it into an empty folder`,
    () => program.install(file),
  )
  await steps.take('--version and help', async () => {
    expectOutput(await program.run('--version'), /^agent-grid \d+\.\d+\.\d+/)
    expectOutput(await program.run('help'), /^ {2}backup {2,}/m)
  })
  await steps.take('a wrong command, a wrong option, a setting as an option: each is refused with a hint', async () => {
    expectRefusal(await program.run('serv'), 2, 'Did you mean "serve"?')
    expectRefusal(await program.run('backup', '--plane', 'x'), 2, 'Did you mean "--plain"?')
    expectRefusal(await program.run('serve', '--port', '9000'), 2, 'PORT')
  })
  await steps.take('commands before there is a grid say so, and make nothing', async () => {
    expectRefusal(await program.run('list-accounts'), 1, 'There is no database at ./data/grid.db.')
    expectRefusal(await program.runWith(backupKey, 'restore', 'none'), 1, 'There is no file ')
    if (readdirSync(program.folder).includes('data')) throw new Error('A command made ./data')
  })
  await steps.take('demo', async () =>
    expectOutput(
      await program.run('demo'),
      program.kind === 'binary' ? /your own grid: \.\/agent-grid serve/ : /your own grid: npx --no -- @\S+ serve/,
    ))
  await steps.take(
    'service install --print',
    async () => expectOutput(await program.run('service', 'install', '--print'), /^ExecStart=/m),
  )

  let server: Server = await steps.take('serve, until it greets', () => program.serve())
  const chromium = await launchChromium()
  try {
    const page = await (await chromium.newContext()).newPage()
    const account = await steps.take(
      'open the set-up link, create the first user and account',
      () => setUp(page, server.greeting),
    )
    const alice = await steps.take('create @alice on the web', () => createAgent(page, account, 'alice'))
    const bob = await steps.take('create-agent @bob', async () => {
      const words = ['create-agent', '--account', account.split('/').at(-1)!, '--alias', 'bob', '--json']
      return JSON.parse(expectOutput(await program.run(...words), /api_key/)).api_key as string
    })
    await steps.take('the printed npx command reaches the grid', async () => {
      const words = server.greeting.match(/npx (http\S+) health --url (http\S+)/)!
      expectOutput(await program.shell('npx', '--yes', words[1], 'health', '--url', words[2]), /ready/)
    })
    await steps.take('@alice asks, @bob answers, @alice reads the answer', async () => {
      await callTool(url, alice, 'send_message', { to: '@bob', message: question })
      const [asked] = (await callTool(url, bob, 'read_messages')).messages
      await callTool(url, bob, 'send_message', { to: asked.reply_to, message: answer })
      const { messages: [answered] } = await callTool(url, alice, 'read_messages')
      if (asked.message !== question || answered.message !== answer) throw new Error('Other messages were read.')
    })
    await steps.take('see both under Conversations', () => seeConversation(page, account))
    await steps.take(
      'doctor, while it runs',
      async () => expectOutput(await program.run('doctor'), /The grid is well\./),
    )
    await steps.take('backup, while it runs', async () => {
      expectOutput(await program.runWith(backupKey, 'backup', 'today.backup'), /Messages {2,}2\n/)
      expectRefusal(await program.runWith(backupKey, 'backup', 'today.backup'), 1, 'already exists')
      expectRefusal(await program.runWith(backupKey, 'restore', 'today.backup'), 1, 'Stop ')
    })

    await steps.take('kill -9, and remove the database, not its log', async () => {
      await server.kill()
      rmSync(join(program.folder, 'data/grid.db'))
    })
    await steps.take(
      'restore',
      async () => expectOutput(await program.runWith(backupKey, 'restore', 'today.backup'), /Messages {2,}2\n/),
    )
    server = await steps.take('serve again, until it greets', () => program.serve())
    await steps.take('the messages are there, for agents and people', async () => {
      const { messages } = await callTool(url, bob, 'read_messages', { since: '24h' })
      if (!messages.some(({ message }: { message: string }) => message === question)) throw new Error('Lost.')
      await seeConversation(page, account)
    })
    await steps.take(
      'doctor, while it runs',
      async () => expectOutput(await program.run('doctor'), /The grid is well\./),
    )
  } finally {
    await chromium.close()
    await steps.take('stop', async () => {
      const { code } = await server.stop()
      // The signal also ends npx, so npx's exit code is not checked.
      if (program.kind === 'binary' && code !== 0) throw new Error(`The stop ended with ${code}`)
    })
  }
  await steps.take(
    'doctor, after the stop',
    async () => expectOutput(await program.run('doctor'), /The grid is well\./),
  )
}

/** Resolves to the account's URL. */
async function setUp(page: Page, greeting: string): Promise<string> {
  const link = greeting.match(/http\S+\/set-up\/\S+/)?.[0]
  if (!link) throw new Error(`The greeting has no set-up link: ${greeting}`)
  await page.goto(link)
  await page.getByLabel('Name of the account').fill('Acme')
  await page.fill('main [name=name]', 'Ann')
  await page.fill('main [name=email]', 'ann@acme.example')
  await page.fill('main [name=password]', 'correct horse battery')
  await Promise.all([
    page.waitForURL(/\/accounts\/[\w-]+/),
    page.getByRole('button', { name: 'Create account' }).click(),
  ])
  return page.url().match(/^.+\/accounts\/[\w-]+/)![0]
}

/** Creates an agent. Resolves to its key, which the page shows only once. */
async function createAgent(page: Page, account: string, alias: string): Promise<string> {
  await page.goto(`${account}/new-agent`)
  await page.fill('[name=alias]', alias)
  await page.getByRole('button', { name: 'Create agent' }).click()
  const key = await page.locator('#secret-text').textContent()
  if (!key?.startsWith('grid_agt_')) throw new Error(`The page shows no key: ${key}`)
  return key
}

async function seeConversation(page: Page, account: string): Promise<void> {
  await page.goto(`${account}/conversations`)
  await page.locator('main a', { hasText: 'alice' }).first().click()
  await page.getByText(question).last().waitFor()
  await page.getByText(answer, { exact: true }).last().waitFor()
}

function expectOutput(result: Result, pattern: RegExp): string {
  if (result.code === 0 && pattern.test(result.stdout)) return result.stdout
  throw new Error(`Not as expected (${pattern}), exit code ${result.code}:\n${result.stdout}${result.stderr}`)
}

function expectRefusal(result: Result, code: number, hint: string): void {
  if (result.code === code && result.stderr.includes(hint)) return
  throw new Error(`Not refused with ${code} and "${hint}", but ${result.code}:\n${result.stdout}${result.stderr}`)
}

await main()
