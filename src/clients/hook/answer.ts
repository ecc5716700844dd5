/** How each client reads the answer of a hook. See docs/clients.md. */
import type { HookClient, HookEvent, HookInput } from './call.ts'

/** What a hook says to its client. */
export interface HookAnswer {
  stdout?: string
  stderr?: string
  /** 2 wakes a client, or blocks it; every other end is 0. */
  exitCode: 0 | 2
}

/** The hook has nothing to say. */
export const silence: HookAnswer = { exitCode: 0 }

/** The names that clients give these events, if their JSON does not say it. */
const eventNames: Record<HookClient, Partial<Record<HookEvent, string>>> = {
  claude: { start: 'SessionStart', prompt: 'UserPromptSubmit', tool: 'PostToolUse', stop: 'Stop' },
  codex: { start: 'SessionStart', prompt: 'UserPromptSubmit', tool: 'PostToolUse', stop: 'Stop' },
  gemini: { start: 'SessionStart', prompt: 'BeforeAgent', tool: 'AfterTool', stop: 'AfterAgent' },
  copilot: { start: 'sessionStart', prompt: 'userPromptSubmitted', tool: 'postToolUse', stop: 'agentStop' },
  cursor: { start: 'sessionStart', prompt: 'beforeSubmitPrompt', tool: 'postToolUse', stop: 'stop' },
  vscode: { start: 'SessionStart', prompt: 'UserPromptSubmit', tool: 'PostToolUse', stop: 'Stop' },
}

/** Give the model `text` beside what it is asked now. */
export function contextAnswer(client: HookClient, event: HookEvent, input: HookInput, text: string): HookAnswer {
  if (client === 'cursor') return json({ additional_context: text })
  const hookEventName = input.eventName ?? eventNames[client][event]
  const forMost = { hookSpecificOutput: { hookEventName, additionalContext: text } }
  // Copilot and VS Code run each other's files, and have two names for it.
  const isShared = client === 'copilot' || client === 'vscode'
  return json(isShared ? { additionalContext: text, ...forMost } : forMost)
}

/** Let the client go on for one more turn, with `text` as the reason. */
export function goOnAnswer(client: HookClient, text: string): HookAnswer {
  if (client === 'cursor') return json({ followup_message: text })
  return json({ decision: client === 'gemini' ? 'deny' : 'block', reason: text })
}

function json(value: unknown): HookAnswer {
  return { stdout: JSON.stringify(value), exitCode: 0 }
}
