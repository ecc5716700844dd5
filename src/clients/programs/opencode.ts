/** opencode. @see https://opencode.ai/docs/config, https://opencode.ai/docs/plugins */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { WantedFile } from '../files/written-file.ts'
import { serverName } from '../primer.ts'
import { type ClientProgram, endpoint, type Setup, skillFile, userFolder, woken } from './program.ts'

/** The first that is there is edited; else the first is made. */
const configNames = ['opencode.json', 'opencode.jsonc']

/** opencode. It reads the key from a file of its own, so its configuration has none. */
export const openCode: ClientProgram = {
  name: 'opencode',
  title: 'opencode',
  commands: ['opencode'],
  folder,
  files(setup) {
    const own = setup.folder === undefined ? folder() : join(setup.folder, '.opencode')
    const config = setup.folder ?? folder()
    const name = configNames.find((name) => existsSync(join(config, name))) ?? configNames[0]
    const value = {
      type: 'remote',
      url: endpoint(setup),
      headers: { Authorization: `Bearer {file:${setup.keyFile}}` },
      oauth: false,
    }
    return [
      { path: setup.keyFile, format: 'own', text: setup.key, hasKey: true },
      { path: join(config, name), format: 'json', entries: [{ container: ['mcp'], name: serverName, value }] },
      ...pluginFiles(setup, own),
      skillFile(join(own, 'skills')),
    ]
  },
  steps: () => [],
  wakes: woken,
}

function folder(): string {
  return join(userFolder('XDG_CONFIG_HOME', '.config'), 'opencode')
}

/** It only names the installed one, so that it never changes. */
function pluginFiles({ wake, openCodePlugin }: Setup, own: string): WantedFile[] {
  if (wake === 'off') return []
  const text = `export * from ${JSON.stringify(pathToFileURL(openCodePlugin).href)}\n`
  return [{ path: join(own, 'plugins', `${serverName}.js`), format: 'own', text }]
}
