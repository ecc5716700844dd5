import { channel } from './channel.ts'
import type { ProcessCommand } from './command.ts'
import { health } from './health.ts'
import { hook } from './hook.ts'
import { run } from './run.ts'

/** The commands that need no database. They are a program of their own, and the package that a grid hands out. */
export const clientCommands: readonly ProcessCommand[] = [health, hook, run, channel]
