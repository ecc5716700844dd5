import { clientNames } from '../clients/programs/names.ts'
import type { ProcessCommand } from './command.ts'

/** Connects coding clients of this machine to a grid. See docs/clients.md. */
export const connect: ProcessCommand = {
  name: 'connect',
  summary: 'Connect a coding client to a grid: tools, hooks and a skill.',
  operand: 'client',
  options: {
    client: {
      placeholder: 'CLIENT',
      description: `${clientNames.join(', ')}; without it, those on this machine, which it asks about`,
      oneOf: clientNames,
    },
    url: {
      placeholder: 'URL',
      description: 'address of the grid; without it, that of the other connections',
      env: 'AGENT_GRID_URL',
    },
    as: { placeholder: '@AGENT', description: 'the agent that the client is to be' },
    scope: {
      placeholder: 'SCOPE',
      description: 'user (all projects, the default) or project (this folder; no key is written into shared files)',
      oneOf: ['user', 'project'],
    },
    wake: {
      placeholder: 'HOW',
      description: 'auto (tell and wake, the default), start (tell when a session begins) or off',
      oneOf: ['auto', 'start', 'off'],
    },
    key: {
      placeholder: 'KEY',
      description: 'an agent key, in place of signing in in the browser',
      env: 'AGENT_GRID_KEY',
      file: 'key-file',
    },
    'dry-run': { placeholder: '', description: 'show what would be written, and write nothing', flag: true },
    yes: { placeholder: '', description: 'write without asking', flag: true },
  },
  async start(json, args) {
    // Loaded when it is needed: it reads the files of many programs.
    const { connectClients } = await import('./connect-clients.ts')
    const { withErrorCodes } = await import('./client-errors.ts')
    return await withErrorCodes(() => connectClients(json, args))
  },
}
