/** Refuses a form whose fields were changed after its page was opened. See docs/architecture.md, "Pages". */
import { GridError } from '../errors.ts'
import { isolated } from '../html/bidi.tsx'
import { fieldsOfForm, type FilledFields, fingerprintOf, hashesIn, hashOf, madeFromField } from '../html/made-from.ts'

/** Describes who changed something, and when. */
export interface LastChange {
  who: string
  when: string
}

export interface PostedForm {
  request: Request
  form: URLSearchParams
  /** Returns who last changed one of these fields of the page's subject, and when. Undefined if unknown. */
  lastChange?(fields: readonly string[]): Promise<LastChange | undefined>
}

/**
 * Fails with `form_outdated` if the form would overwrite a field that has changed since the page was opened. The form
 * is then refreshed and keeps only the user's own input. `show` renders its page again.
 */
export async function checkOutdated(visit: PostedForm, show: () => Promise<unknown>): Promise<void> {
  const { form } = visit
  const madeFrom = form.get(madeFromField)
  if (madeFrom === null) return
  const now = await fieldsNow(visit, show)
  if (!now) return
  const before = hashesIn(madeFrom)
  const changed = [...now].filter(([name, { values }]) =>
    before.has(name) && before.get(name) !== hashOf(values) && hashOf(form.getAll(name)) !== hashOf(values)
  )
  if (changed.length === 0) return
  for (const [name, { values }] of now) {
    if (before.get(name) !== hashOf(form.getAll(name))) continue
    form.delete(name)
    for (const value of values) form.append(name, value)
  }
  form.set(madeFromField, fingerprintOf(now))
  const by = await visit.lastChange?.(changed.map(([name]) => name))
  const labels = [...new Set(changed.flatMap(([, { label }]) => label ?? []))].map(isolated).join(', ')
  throw new GridError(
    'form_outdated',
    `${by ? `${isolated(by.who)} changed this ${by.when}` : 'This was changed after you opened it'}${
      labels && `: ${labels}`
    }. Nothing was saved. What you typed is kept, the rest is as it is now: check it, and save again.`,
  )
}

/**
 * Returns the form's fields as a new visit would show them. Undefined if the form no longer exists; the action then
 * explains why.
 */
async function fieldsNow({ request }: PostedForm, show: () => Promise<unknown>): Promise<FilledFields | undefined> {
  try {
    const shown = await show()
    if (!(shown instanceof Response)) return undefined
    return fieldsOfForm(await shown.text(), new URL(request.url).pathname)
  } catch (error) {
    if (error instanceof GridError) return undefined
    throw error
  }
}
