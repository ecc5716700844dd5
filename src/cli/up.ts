import type { ProcessCommand } from './command.ts'

/** Starts the grid of this machine, and connects the coding clients. See docs/clients.md, "A grid of your own". */
export const up: ProcessCommand = {
  name: 'up',
  summary: 'Start a grid for this machine, and connect its coding clients. No account, browser or email is needed.',
  options: {
    folder: { placeholder: 'PATH', description: 'the folder whose sessions get agents; by default the current folder' },
    tools: {
      placeholder: 'HOW',
      description: 'whether the clients may call conversation tools without asking: allow (the default) or ask',
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
  summary: 'Stop the grid that "agent-grid up" started. Its messages and connections are kept.',
  options: {},
  async start(json) {
    const { stopLocalGrid } = await import('./local-grid.ts')
    return await stopLocalGrid(json)
  },
}
