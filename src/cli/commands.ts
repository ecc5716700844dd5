import { clientCommands } from './client-commands.ts'
import type { Command } from './command.ts'
import { demo } from './demo.ts'
import { serve } from './serve.ts'
import { serviceInstall } from './service-install.ts'
import { storeCommands } from './store-commands.ts'

/** All commands, in the order of the usage text. */
export const commands: readonly Command[] = [serve, demo, ...storeCommands, serviceInstall, ...clientCommands]
