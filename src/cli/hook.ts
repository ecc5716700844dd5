import type { ProcessCommand } from './command.ts'

/** The hooks that coding clients run at session events. `connect` writes the entries that call this command. */
export const hook = {
  name: 'hook',
  summary: "Notify a coding client of unread messages. The client's configuration calls this command.",
  options: {
    as: { placeholder: '@AGENT', description: 'the agent, if the client is connected as several agents' },
    url: { placeholder: 'URL', description: 'its grid' },
  },
  // Parses its own arguments, because the usual exit code of a usage error would block the client.
  async startWith(words: readonly string[]): Promise<number> {
    const { runHook } = await import('../clients/hook/run-hook.ts')
    return await runHook(words)
  },
  start: () => Promise.resolve(0),
} satisfies ProcessCommand
