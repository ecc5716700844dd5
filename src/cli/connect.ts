import { clientNames } from '../clients/programs.ts'
import type { ProcessCommand } from './command.ts'

const yes = { placeholder: '', flag: true } as const

/** Connects this machine's coding clients to a grid. See docs/clients.md. */
export const connect: ProcessCommand = {
  name: 'connect',
  summary: 'Connect coding clients to a grid: tools, hooks and a skill. disconnect removes them.',
  operands: ['client'],
  options: {
    client: {
      placeholder: 'CLIENT',
      description: `${clientNames.join(', ')}; or all for every client on this machine; by default the command asks`,
      oneOf: [...clientNames, 'all'],
    },
    url: {
      placeholder: 'URL',
      description: 'address of the grid; by default the grid of the other connections',
      env: 'AGENT_GRID_URL',
    },
    as: { placeholder: '@AGENT', description: 'the agent that the client acts as' },
    scope: {
      placeholder: 'SCOPE',
      description: 'user (all projects, the default) or project (this folder; no key is written into shared files)',
      oneOf: ['user', 'project'],
    },
    wake: {
      placeholder: 'HOW',
      description: 'auto (notify and wake, the default), start (notify when a session begins) or off',
      oneOf: ['auto', 'start', 'off'],
    },
    tools: {
      placeholder: 'HOW',
      description:
        'whether the client may call conversation tools without asking: allow or ask; by default the command asks you',
      oneOf: ['allow', 'ask'],
    },
    'edit-warnings': {
      placeholder: 'HOW',
      description:
        'on or off: warn Claude Code before it edits a file that another agent has reserved; by default the command asks you',
      oneOf: ['on', 'off'],
    },
    key: {
      placeholder: 'KEY',
      description: 'an agent key, instead of a sign-in in the browser',
      env: 'AGENT_GRID_KEY',
      file: 'key-file',
    },
    'dry-run': { ...yes, description: 'show what would be written without writing it' },
    yes: { ...yes, description: 'write without asking' },
  },
  async start(json, args) {
    // Loaded on demand, because it reads the files of many programs.
    const { connectClients } = await import('./connect-clients.ts')
    return await connectClients(json, args)
  },
}

/** Removes from a client everything that `connect` wrote. */
export const disconnect: ProcessCommand = {
  name: 'disconnect',
  summary: 'Remove the configuration of a coding client that connect wrote, and revoke its key.',
  operands: ['client'],
  options: {
    client: { placeholder: 'CLIENT', description: clientNames.join(', '), oneOf: clientNames, required: true },
    scope: {
      placeholder: 'SCOPE',
      description: 'user (the default) or project (this folder)',
      oneOf: ['user', 'project'],
    },
    'dry-run': { ...yes, description: 'show what would be removed without removing it' },
    yes: { ...yes, description: 'remove without asking' },
  },
  async start(json, args) {
    const { disconnectClient } = await import('./disconnect-client.ts')
    return await disconnectClient(json, args)
  },
}
