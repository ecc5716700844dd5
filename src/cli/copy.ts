import process from 'node:process'
import { ConfigError } from '../config.ts'
import { copyGrid } from '../store/backup/move.ts'
import { localPath } from '../store/driver/local-file.ts'
import { type ProcessCommand, usageError } from './command.ts'
import { print, printError } from './output.ts'
import { table } from './tables.ts'
import { readConfig } from './settings.ts'

export const copy: ProcessCommand = {
  name: 'copy',
  summary: "Copy the grid into an empty database of any kind, and compare the two. Stop the grid's servers first.",
  options: {
    to: { placeholder: 'URL', description: 'the new database, in the form of DATABASE_URL', required: true },
    'to-token': {
      placeholder: 'TOKEN',
      description: 'token for the new database, if it is remote',
      env: 'COPY_AUTH_TOKEN',
      file: 'to-token-file',
    },
  },
  async start(json, args) {
    const config = readConfig(process.env)
    const to = databaseUrl(args.to!)
    if (to === config.databaseUrl) throw usageError('--to is the database of this grid (DATABASE_URL).')
    const from = { url: config.databaseUrl, authToken: config.databaseAuthToken }
    const content = await copyGrid(
      { from, to: { url: to, authToken: args['to-token']?.trim() }, now: Date.now },
      (name, rows) => {
        if (!json && rows > 0) printError(`${name}: ${rows}`)
      },
    )
    const name = localPath(to) ?? new URL(to).host
    const rows = Object.values(content.rows).reduce((sum, count) => sum + count, 0)
    const result = { copied_to: name, rows, messages: content.rows.messages ?? 0, keys: content.keys }
    print(
      json ? JSON.stringify(result) : [
        table([['Copied to', name], ['Rows', rows], ['Messages', result.messages]]),
        '',
        'Set DATABASE_URL to it, and start. Do not start the grid on the old database again: its messages would not be in',
        'the new one.',
        ...(content.keys.length > 0
          ? [
            '',
            `Stored tokens need the key ring (${
              content.keys.join(', ')
            }): bring it to the new grid, in GRID_KEYS or as a file.`,
          ]
          : []),
      ].join('\n'),
    )
    return 0
  },
}

function databaseUrl(to: string): string {
  try {
    return readConfig({ DATABASE_URL: to }).databaseUrl
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw usageError(error.message.replace('DATABASE_URL', '--to'))
  }
}
