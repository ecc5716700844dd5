/** The commands for agents: send, read and watch. */
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { mayRepeat, reconnectMs } from '../clients/grid-call.ts'
import { GridClient, type InboxMessage, type Peek, type SendRequest, type Sent } from '../clients/grid-client.ts'
import { jsonLine } from '../lib/redact.ts'
import { attentionExitCode, type CommandArguments, type ProcessCommand, usageError } from './command.ts'
import { accessOptions, gridAccess } from './grid-access.ts'
import { partLines, partOfFile, saveParts } from './files.ts'
import { print, printTaken } from './output.ts'

/** How many times a send is attempted. The idempotency key ensures that it is stored once. */
const maxAttempts = 3
/** How long a send waits for an answer, in seconds. This is the grid's maximum. */
const waitSeconds = 50

export const send: ProcessCommand = {
  name: 'send',
  summary: 'Send a message as an agent.',
  operands: ['to', 'message'],
  options: {
    to: { placeholder: 'TO', description: '@agent or #channel', required: true },
    message: {
      placeholder: 'TEXT',
      description: 'the message; default, or with -: standard input',
      file: 'message-file',
    },
    file: { placeholder: 'PATH', description: 'a file to attach' },
    choice: {
      placeholder: 'TEXT',
      description: 'an answer that a person can click; up to 6 times',
      several: true,
    },
    'reply-to': { placeholder: 'ID', description: 'message_id of the message that this one answers' },
    conversation: {
      placeholder: 'ID',
      description: 'the conversation; default: the conversation of the answered message',
    },
    acks: {
      placeholder: 'LEASE',
      description: 'lease_id of "read --lease": its messages are acknowledged together with this send',
    },
    expires: {
      placeholder: 'SECONDS',
      description: 'expire the message if it is unread after 10 to 604800 seconds',
    },
    wait: { placeholder: '', description: `wait up to ${waitSeconds} s for the answer, and print it`, flag: true },
    'idempotency-key': { placeholder: 'KEY', description: 'any text; a repeat with the same text sends nothing' },
    ...accessOptions,
  },
  async start(json, args) {
    const { to, file, choice, conversation, acks, 'idempotency-key': key = crypto.randomUUID() } = args
    const client = new GridClient(gridAccess(args))
    const request: SendRequest = {
      to: to!,
      message: args.message === undefined || args.message === '-' ? readInput() : args.message,
      ...(file !== undefined && { parts: [await partOfFile(client, file)] }),
      choices: choice?.split('\n'),
      reply_to_message_id: args['reply-to'],
      conversation_id: conversation,
      expires_in_seconds: numberOf(args, 'expires', 10, 604_800),
      ...(acks !== undefined && { acks: { lease_id: acks } }),
      ...(args.wait !== undefined && { wait_seconds: waitSeconds }),
    }
    const sent = await sendOnce(client, request, key)
    if (json) print(jsonLine(sent))
    else if (!sent.answer) print(`Sent to ${sent.recipient}: ${sent.message_id}`)
    else print(sent.answer.note ?? textOf(sent.answer.messages, sent.answer.unread))
    return sent.answer?.messages.length === 0 ? attentionExitCode : 0
  },
}

function readInput(): string {
  if (process.stdin.isTTY) throw usageError('Give the message as TEXT or on standard input.')
  // Removes the final line feed, because the shell adds one.
  return readFileSync(0, 'utf8').replace(/\r?\n$/, '')
}

async function sendOnce(client: GridClient, request: SendRequest, key: string): Promise<Sent> {
  for (let attempt = 1;; attempt++) {
    try {
      return await client.send(request, key)
    } catch (error) {
      if (!mayRepeat(error) || attempt === maxAttempts) throw error
      await pause((error.retryAfterSeconds ?? attempt) * 1_000)
    }
  }
}

/** How long messages are leased while they are printed, in seconds. */
const printSeconds = 60
/** The modes, which are mutually exclusive. */
const modes = ['peek', 'lease', 'extend', 'ack', 'release'] as const

interface Output {
  json: unknown
  text: string
}

export const read: ProcessCommand = {
  name: 'read',
  summary: 'Read the unread messages of an agent, or lease them.',
  options: {
    limit: { placeholder: 'N', description: 'number of messages, 1 to 50' },
    conversation: { placeholder: 'ID', description: 'only messages of this conversation' },
    peek: { placeholder: '', description: 'only show them: they stay unread', flag: true },
    lease: {
      placeholder: 'SECONDS',
      description: 'lease the messages for 30 to 43200 seconds; then they are unread again unless you --ack',
    },
    extend: { placeholder: 'LEASE', description: 'extend a lease to --seconds from now' },
    seconds: { placeholder: 'SECONDS', description: 'with --extend; 600 without it' },
    ack: { placeholder: 'LEASE', description: 'acknowledge the messages of a lease' },
    release: { placeholder: 'LEASE', description: 'release a lease, so that its messages are unread again' },
    save: { placeholder: 'FOLDER', description: 'save attached files in this folder; existing files are kept' },
    ...accessOptions,
  },
  async start(json, args) {
    const given = modes.filter((mode) => args[mode] !== undefined)
    if (given.length > 1) throw usageError(`Give only one of ${given.map((mode) => `--${mode}`).join(', ')}.`)
    await run(new GridClient(gridAccess(args)), args, json)
    return 0
  },
}

async function run(client: GridClient, args: CommandArguments, json: boolean): Promise<void> {
  const show = ({ json: value, text }: Output) => printTaken(json ? jsonLine(value) : text)
  const { peek, lease, extend, ack, release, save } = args
  const showSaved = async (value: object, messages: InboxMessage[], remaining: number, note = '') => {
    const saved = save === undefined ? undefined : await saveParts(client, save, messages)
    const text = [textOf(messages, remaining) + note, ...(saved ?? []).map((path) => `Saved ${path}`)].join('\n')
    await show({ json: { ...value, ...(saved && { saved }) }, text })
  }
  const limit = numberOf(args, 'limit', 1, 50)
  if (peek !== undefined) {
    const found = await client.peek({ limit, summary: false })
    return await showSaved(found, found.messages, found.unread - found.messages.length)
  }
  if (extend !== undefined) {
    const extended = await client.extend(extend, numberOf(args, 'seconds', 30, 43_200) ?? 600)
    return await show({ json: extended, text: `The lease lasts until ${extended.expires_at}.` })
  }
  if (ack !== undefined) {
    const done = await client.ack(ack)
    return await show({ json: done, text: `${count(done.acked)} acknowledged.` })
  }
  if (release !== undefined) {
    const done = await client.release(release)
    return await show({ json: done, text: `${count(done.released)} unread again.` })
  }
  const seconds = numberOf(args, 'lease', 30, 43_200)
  const leased = await client.lease({ limit, conversation_id: args.conversation, seconds: seconds ?? printSeconds })
  const { lease_id: id, messages, remaining } = leased
  if (lease !== undefined) {
    const note = id === null ? '' : `\n\nLease ${id}, until ${leased.expires_at}. When you are done: read --ack ${id}`
    return await showSaved(leased, messages, remaining, note)
  }
  // Messages that cannot be printed are redelivered, as after a crash.
  await showSaved({ messages, remaining }, messages, remaining)
  if (id !== null) await client.ack(id)
}

function textOf(messages: InboxMessage[], remaining: number): string {
  if (messages.length === 0) return 'No unread messages.'
  const shown = messages.map((message) => {
    const { message_id, user, channel, timestamp, redelivered, message: text = '' } = message
    const where = channel === 'direct' ? '' : ` in ${channel}`
    const again = redelivered ? ', redelivered' : ''
    return `${user}${where}, ${timestamp}${again} (${message_id})\n${text.replace(/^/gm, '  ')}${partLines(message)}`
  })
  const more = remaining > 0 ? `\n\n${count(remaining)} more unread.` : ''
  return shown.join('\n\n') + more
}

function count(n: number): string {
  return `${n >= 100 ? '100 or more' : n} ${n === 1 ? 'message' : 'messages'}`
}

function numberOf(args: CommandArguments, name: string, least: number, most: number): number | undefined {
  const text = args[name]
  if (text === undefined) return undefined
  const n = Number(text)
  if (/^\d+$/.test(text) && n >= least && n <= most) return n
  throw usageError(`--${name} must be a whole number from ${least} to ${most}, not "${text}".`)
}

const maxNamed = 5

export const watch: ProcessCommand = {
  name: 'watch',
  summary: 'Print a line whenever an agent has unread messages.',
  options: {
    once: { placeholder: '', description: 'exit after the first line', flag: true },
    ...accessOptions,
  },
  async start(json, args) {
    for await (const peek of wakes(new GridClient(gridAccess(args)))) {
      print(json ? jsonLine(peek) : lineOf(peek))
      if (args.once !== undefined) break
    }
    return 0
  },
}

/** Yields the unread messages at each wake. Reopens a lost stream. Fails on errors that a retry cannot solve. */
async function* wakes(client: GridClient): AsyncGenerator<Peek> {
  for (let failures = 1;; failures++) {
    try {
      for await (const event of client.wakeStream()) {
        failures = 0
        if (event !== 'unread') continue
        const peek = await client.peek()
        // Another reader may have received the messages.
        if (peek.messages.length > 0) yield peek
      }
    } catch (error) {
      if (!mayRepeat(error)) throw error
    }
    await pause(reconnectMs(failures))
  }
}

function lineOf({ agent, unread, messages }: Peek): string {
  const senders = [...new Set(messages.map(({ user }) => user))]
  const more = senders.length > maxNamed ? ` and ${senders.length - maxNamed} more` : ''
  const n = unread >= 100 ? '100 or more' : unread
  return `${agent}: ${n} unread from ${senders.slice(0, maxNamed).join(', ')}${more}`
}
