import { channel } from './channel.ts'
import type { ProcessCommand } from './command.ts'
import { connect, disconnect } from './connect.ts'
import { health } from './health.ts'
import { hook } from './hook.ts'
import { read } from './read.ts'
import { run } from './run.ts'
import { send } from './send.ts'
import { watch } from './watch.ts'

/** The commands that need no database. They are a program of their own, and the package that a grid hands out. */
export const clientCommands: readonly ProcessCommand[] = [
  connect,
  disconnect,
  send,
  read,
  watch,
  run,
  channel,
  hook,
  health,
]
