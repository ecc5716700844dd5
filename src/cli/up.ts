import type { ProcessCommand } from './command.ts'

/** Starts the grid of this machine, and connects the coding clients. See docs/clients.md, "A grid of your own". */
export const up: ProcessCommand = {
  name: 'up',
  summary: 'Start a grid for this machine, and connect its coding clients. No account, browser or email is needed.',
  options: {
    folder: { placeholder: 'PATH', description: 'the folder whose sessions get agents; by default the current one' },
    tools: {
      placeholder: 'HOW',
      description: 'allow (the default) or ask: whether the clients call the tools of a conversation without asking',
      oneOf: ['allow', 'ask'],
    },
    detach: { placeholder: '', description: 'run the grid in the background; down stops it', flag: true },
    yes: { placeholder: '', description: 'write without asking', flag: true },
  },
  async start(json, args) {
    const { startAndConnect } = await import('./local-grid.ts')
    return await startAndConnect(json, args)
  },
}

export const down: ProcessCommand = {
  name: 'down',
  summary: 'Stop the grid that up runs. Its messages and connections stay.',
  options: {},
  async start(json) {
    const { stopLocalGrid } = await import('./local-grid.ts')
    return await stopLocalGrid(json)
  },
}
