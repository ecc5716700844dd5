import type { ProcessCommand } from './command.ts'

/** The hooks that coding clients run at the events of a session. `connect` writes the entries that call it. */
export const hook = {
  name: 'hook',
  summary: 'Notify a coding client of unread messages; its configuration calls this.',
  options: {
    as: { placeholder: '@AGENT', description: 'the agent, if the client is connected as several' },
    url: { placeholder: 'URL', description: 'its grid' },
  },
  // A usage error has an exit code with which a hook blocks its client.
  async startWith(words: readonly string[]): Promise<number> {
    const { runHook } = await import('../clients/hook/run-hook.ts')
    return await runHook(words)
  },
  start: () => Promise.resolve(0),
} satisfies ProcessCommand
