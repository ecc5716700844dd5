/** A newcomer's grid: cloned, installed and started as the README describes, with an account and two agents. */
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { BrowserContext } from 'playwright-core'
import { freePort } from '../../src/lib/free-port.ts'
import { launchChromium } from '../../test/support/chromium.ts'
import { callTool } from '../../test/e2e/client.ts'
import { approveInBrowser } from '../../test/support/consent-browser.ts'
import { outputOf } from '../run-program.ts'
import { Steps } from './client-process.ts'

export interface NewcomersGrid {
  url: string
  /** The steps from the clone to the first message with curl, and to an account with its owner signed in. */
  steps: { curl: Steps; account: Steps }
  /** The key of @alice. The clients act as @alice. */
  key: string
  /** Sends messages from @bob to @alice. */
  sendToAlice(messages: string[]): Promise<void>
  /** As the owner, allows a program to act as the agent or admin that `entry` names on the consent page. */
  allow(url: string, entry: string): Promise<string>
  close(): Promise<void>
}

/** Standard input is not a socket, because Bash would assume a remote shell and read the machine's startup files. */
const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']
const repository = fileURLToPath(new URL('../..', import.meta.url))

/** Runs the newcomer's steps in `folder`. Fails if a step fails. */
export async function startAsNewcomer(folder: string): Promise<NewcomersGrid> {
  const clone = join(folder, 'agent-grid')
  const env = { ...newcomersEnv(), PORT: String(await freePort()) }
  const url = `http://localhost:${env.PORT}`
  const run = (command: string, ...words: string[]) => outputOf(spawn(command, words, { cwd: clone, env, stdio }))
  const command = async (...words: string[]) =>
    JSON.parse(await run('npm', 'run', '-s', 'grid', '--', ...words, '--json'))

  const curl = new Steps()
  await curl.take('git clone', () => outputOf(spawn('git', ['clone', '--quiet', repository, clone], { env, stdio })))
  await curl.take('npm ci', () => run('npm', 'ci', '--loglevel', 'error'))
  const server = await curl.take('npm start, until it greets', () => start(clone, env, url))
  const stop = async () => {
    server.kill('SIGTERM')
    await once(server, 'close')
  }
  try {
    await curl.take('paste the block of the README, to the first message', async () => {
      const printed = await run('bash', '-euo', 'pipefail', '-c', firstMessage(clone, url))
      const link = printed.match(/Open (\S+)/)?.[1]
      if (!printed.includes('"message_id"') || !(await fetch(link ?? url)).ok) {
        throw new Error(`The message was not sent, or its link does not open: ${printed}`)
      }
    })

    const account = new Steps()
    const acme = await account.take(
      'create-account',
      () => command('create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example'),
    )
    const createAgent = (alias: string) => command('create-agent', '--account', acme.account_id, '--alias', alias)
    const [alice, bob] = await account.take(
      'create-agent, twice',
      async () => [await createAgent('alice'), await createAgent('bob')],
    )
    const chromium = await launchChromium()
    const browser = await chromium.newContext()
    await account.take('open the printed sign-in link and press the button', () => signIn(browser, acme.sign_in_url))
    const answering = answerAll(url, bob.api_key)
    return {
      url,
      steps: { curl, account },
      key: alice.api_key,
      async sendToAlice(messages) {
        for (const message of messages) {
          const { error } = await callTool(url, bob.api_key, 'send_message', { to: '@alice', message })
          if (error) throw new Error(`@bob could not send: ${error.message}`)
        }
      },
      allow: (authorizeUrl, entry) => approveInBrowser(browser, authorizeUrl, { email: '', password: '', entry }),
      async close() {
        await chromium.close()
        answering.stop()
        await stop()
        await answering.ended
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The environment without this process's settings and npm variables, which apply to another folder. */
function newcomersEnv(): Record<string, string | undefined> {
  const kept =
    /^(PATH|HOME|USER|LANG|TMPDIR|https?_proxy|HTTPS?_PROXY|NODE_EXTRA_CA_CERTS)$|^npm_config_(registry|cache|userconfig)$/
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => kept.test(name)))
  return { ...env, PATH: env.PATH?.split(delimiter).filter((path) => !path.includes('node_modules')).join(delimiter) }
}

async function start(clone: string, env: Record<string, string | undefined>, url: string): Promise<ChildProcess> {
  const server = spawn('npm', ['start'], { cwd: clone, env, stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise<void>((resolve, reject) => {
    let text = ''
    server.stdout!.setEncoding('utf8').on('data', (more) => {
      text += more
      if (text.includes(`agent-grid is running at ${url}\n`)) resolve()
    })
    server.once('close', (code) => reject(new Error(`npm start ended with ${code}`)))
  })
  return server
}

/** The README block that sends a first message. */
function firstMessage(clone: string, url: string): string {
  const [, block] = readFileSync(join(clone, 'README.md'), 'utf8').match(/```sh\n(grid=.*?)```/s)!
  return block.replace('http://localhost:8787', url)
}

async function signIn(browser: BrowserContext, url: string): Promise<void> {
  const page = await browser.newPage()
  await page.goto(url)
  await Promise.all([page.waitForURL(/\/accounts\//), page.getByRole('button', { name: 'Sign in' }).click()])
  await page.close()
}

/** Lets @bob answer every message. */
function answerAll(url: string, key: string): { stop(): void; ended: Promise<void> } {
  let isStopped = false
  const answer = async () => {
    while (!isStopped) {
      const { messages } = await callTool(url, key, 'read_messages', { wait_seconds: 10 })
      for (const { message, reply_to: to } of messages) {
        await callTool(url, key, 'send_message', { to, message: answerTo(message) })
      }
    }
  }
  // The server ends the pending read when it stops.
  return {
    stop: () => void (isStopped = true),
    ended: answer().catch((error) => {
      if (!isStopped) console.error(error)
    }),
  }
}

/** @bob's answer to a message. */
export function answerTo(message: string): string {
  return `The answer to ${message}`
}
