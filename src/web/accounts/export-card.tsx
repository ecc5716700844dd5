/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The account as an archive, for its owners. See docs/protocol/archive.md. */
import { exportFingerprint, exportForOwner } from '../../grid/accounts/archive.ts'
import { archiveBody } from '../../answers/downloads.ts'
import { Card } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { CopyText } from '../../html/secrets.tsx'
import { downloadHeaders } from '../../lib/http/download.ts'
import { formErrors, Refusal } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { PageDeps, PageResult, Pages, Visit } from '../visit.ts'

/** The form of the card. `show` is the page that has it. */
export function exportActions(
  { post }: Pages<Visit>,
  { store }: PageDeps,
  show: (visit: Visit) => Promise<PageResult>,
): void {
  post('/settings/account/export', async (visit) => {
    const { id } = visit.membership
    const body = await visit.record(
      'export_account',
      {},
      (account) => archiveBody(account, visit.connection, () => exportForOwner(store, account, id)),
    )
    const file = { mediaType: 'application/x-ndjson', filename: `${id}.archive`, isText: true }
    return new Response(body, { headers: downloadHeaders(file) })
  }, show)
}

/** `fingerprint` is undefined if the grid cannot sign. */
export async function ExportCard({ visit, store }: { visit: Visit; store: PageDeps['store'] }) {
  const action = settingsPath(visit, 'account', 'export')
  const { rest } = formErrors(visit, action, [])
  const fingerprint = await exportFingerprint(store)
  return (
    <Card id='export' title='Export' lead='The account as a file, for another grid.'>
      {rest && <Refusal visit={visit}>{rest}</Refusal>}
      <p class='soft small'>
        It has agents, channels, messages, tasks, rules and activity, with the texts that you may read, and no password,
        key or token. It is not encrypted. Each export is in Activity. Whoever imports it needs this fingerprint:
      </p>
      {fingerprint === undefined ? <p>The grid has no key to sign with, so it cannot export.</p> : (
        <>
          <p>
            <CopyText id='export-fingerprint' label='the fingerprint' text={fingerprint} />
          </p>
          <ButtonForm action={action} kind='plain' downloads='Your browser downloads the archive.'>
            Export the account
          </ButtonForm>
        </>
      )}
    </Card>
  )
}
