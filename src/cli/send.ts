import { readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { mayRepeat } from '../clients/grid-call.ts'
import { GridClient, type SendRequest, type Sent } from '../clients/grid-client.ts'
import { type ProcessCommand, usageError } from './command.ts'
import { accessOptions, gridAccess } from './grid-access.ts'

/** How often a send is tried. Its key makes sure that it is stored once. */
const maxAttempts = 3

export const send: ProcessCommand = {
  name: 'send',
  summary: 'Send a message as an agent.',
  operand: 'to',
  options: {
    to: { placeholder: 'TO', description: '@agent or #channel', required: true },
    message: { placeholder: 'TEXT', description: 'the message; without it, standard input', file: 'message-file' },
    'reply-to': { placeholder: 'ID', description: 'message_id of what this answers' },
    conversation: {
      placeholder: 'ID',
      description: 'the conversation; without it, the one of the message that this answers',
    },
    acks: {
      placeholder: 'LEASE',
      description: 'lease_id of "read --lease": its messages are acknowledged together with this send',
    },
    'idempotency-key': { placeholder: 'KEY', description: 'a text of your own; a repeat with the same one sends once' },
    ...accessOptions,
  },
  async start(json, args) {
    const { to, conversation, acks, 'idempotency-key': key = crypto.randomUUID() } = args
    const request: SendRequest = {
      to: to!,
      message: args.message ?? readInput(),
      reply_to_message_id: args['reply-to'],
      conversation_id: conversation,
      ...(acks !== undefined && { acks: { lease_id: acks } }),
    }
    const sent = await sendOnce(new GridClient(gridAccess(args)), request, key)
    console.log(json ? JSON.stringify(sent) : `Sent to ${sent.recipient}: ${sent.message_id}`)
    return 0
  },
}

function readInput(): string {
  if (process.stdin.isTTY) throw usageError('Give --message TEXT, or the message on standard input.')
  // The shell adds the line feed at the end.
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
