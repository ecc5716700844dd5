/** The clients that can be connected, as the command line names them. */
export const clientNames = ['claude', 'codex', 'opencode', 'gemini', 'copilot', 'cursor', 'vscode'] as const

/** A client that can be connected. */
export type ClientName = (typeof clientNames)[number]
