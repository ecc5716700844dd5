/** Internal commands that `export-account` and `import-account` run. */
import { beginImport, endImport, importRows, noteExport, signArchive } from '../archive.ts'
import { storeCommand } from '../../../cli/command.ts'

const json = { placeholder: 'JSON', description: 'what the command needs', required: true } as const

export const noteExportCommand = storeCommand({
  name: 'note-export',
  summary: 'Note that an account is exported.',
  options: { account: json },
  async run(store, { account }) {
    await noteExport(store, account)
    return { noted: true }
  },
  print: () => '',
})

export const signArchiveCommand = storeCommand({
  name: 'sign-archive',
  summary: 'Sign the list of digests of an archive.',
  options: { list: json },
  run: (store, { list }) => signArchive(store, list),
  print: () => '',
})

export const beginImportCommand = storeCommand({
  name: 'begin-import',
  summary: 'Begin to import an account.',
  options: { input: json },
  run: async (store, { input }) => ({ taken: await beginImport(store, JSON.parse(input)) }),
  print: () => '',
})

export const importRowsCommand = storeCommand({
  name: 'import-rows',
  summary: 'Import rows of an archive.',
  options: { account: json, list: json, rows: json },
  async run(store, { account, list, rows }) {
    await importRows(store, { account, list, rows: JSON.parse(`[${rows}]`) })
    return {}
  },
  print: () => '',
})

export const endImportCommand = storeCommand({
  name: 'end-import',
  summary: 'Show an imported account.',
  options: { input: json },
  run: (store, { input }) => endImport(store, JSON.parse(input)),
  print: () => '',
})

export const archiveCommands = [
  noteExportCommand,
  signArchiveCommand,
  beginImportCommand,
  importRowsCommand,
  endImportCommand,
]
