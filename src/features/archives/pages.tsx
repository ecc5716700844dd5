/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The card with which owners download the account as an archive. See docs/protocol/archive.md. */
import { Card } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { CopyText } from '../../html/secrets.tsx'
import { downloadHeaders } from '../../lib/http/download.ts'
import { showSubject } from '../../web/accounts/settings-account.tsx'
import { formErrors, Refusal } from '../../web/forms.tsx'
import { settingsPath } from '../../web/settings.tsx'
import type { AccountPages, AccountSubject, PageDeps, Visit, WebFeature } from '../../web/visit.ts'
import { exportFingerprint, exportForOwner } from './archive.ts'
import { archiveBody } from './download.ts'

export const phrases: WebFeature['phrases'] = {
  export_account: ['Export', 'Exported', 'the account'],
  'export-account': ['Export', 'Exported', 'the account'],
  'import-account': ['Import', 'Imported', 'the account'],
}

export const exportSubject: AccountSubject & { after: string } = {
  after: 'programs',
  path: 'export',
  title: 'Export',
  words: 'archive download backup move',
  may: 'own',
  state: () => ({ text: 'The account as a file, for another grid', link: 'Open' }),
  page: (visit, deps) => exportCard(visit, deps),
}

export function exportPages({ may }: AccountPages, deps: PageDeps): void {
  may('own').post('/settings/account/export', async (visit) => {
    const { id } = visit.membership
    const { store } = deps
    const body = await visit.record(
      'export_account',
      {},
      (account) => archiveBody(store, account, visit.connection, () => exportForOwner(store, account, id)),
    )
    const file = { mediaType: 'application/x-ndjson', filename: `${id}.archive`, isText: true }
    return new Response(body, { headers: downloadHeaders(file) })
  }, (visit) => showSubject(visit, deps, exportSubject))
}

async function exportCard(visit: Visit, { store }: PageDeps) {
  const action = settingsPath(visit, 'account', 'export')
  const { rest } = formErrors(visit, action, [])
  // Undefined if the grid cannot sign archives.
  const fingerprint = await exportFingerprint(store)
  return (
    <Card title='Export' lead='The account as a file, for another grid.'>
      {rest && <Refusal visit={visit}>{rest}</Refusal>}
      <p class='soft small'>
        It has agents, channels, messages, tasks, rules and activity, with the texts that you may read, and no password,
        key or token. It is not encrypted. Each export is in Activity. The import asks for this fingerprint:
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
