import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { cursor } from './cursor.ts'
import { gemini } from './gemini.ts'
import { openCode } from './opencode.ts'
import type { ClientProgram } from './program.ts'
import { vsCode } from './vscode.ts'

/** All clients that can be connected. */
export const programs: readonly ClientProgram[] = [claude, codex, openCode, gemini, copilot, cursor, vsCode]
