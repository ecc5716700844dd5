/** All extensions of A2A that the grid has. See docs/protocol.md, "A2A extensions". */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import type { Handler } from '../request-context.ts'
import { awaitReply } from './await-reply.ts'
import { declared, type Extension, extensionUri } from './extension.ts'
import { gridRouting } from './grid-routing.ts'
import { idempotency } from './idempotency.ts'

/** Those that change something at the shared endpoint. */
const ofGrid = [gridRouting, awaitReply, idempotency]
/** Those that change something at the endpoint of an agent: its path names the recipient, and it waits by itself. */
const ofAgent = [idempotency]

/** The extensions of the shared endpoint, as its card declares them. */
export function gridExtensions(config: Config): Record<string, unknown>[] {
  return ofGrid.map((extension) => declared(config, extension))
}

/** The extensions of the endpoint of an agent, as its card declares them. */
export function agentExtensions(config: Config): Record<string, unknown>[] {
  return ofAgent.map((extension) => declared(config, extension))
}

/** Serves the text of the extension that the path names. Fails with `not_found`. */
export function extensionTexts(config: Config): Handler {
  return function extensionText(c) {
    const found = ofGrid.find(({ name }) => name === c.req.param('name'))
    if (!found) throw new GridError('not_found', 'There is no extension of this name.')
    return textOf(config, found)
  }
}

function textOf(config: Config, extension: Extension): Response {
  return new Response(extension.text(extensionUri(config, extension), config), {
    headers: {
      'Content-Type': 'text/markdown; charset=utf-8',
      'Cache-Control': 'public, max-age=3600',
      // The CORS headers depend on whether there is an Origin.
      Vary: 'Origin',
    },
  })
}
