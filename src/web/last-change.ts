/** Finds the last change to a page's subject in the activity log. */
import { timeInWords } from '../html/components.tsx'
import type { AccountStore } from '../store/account.ts'
import type { ListedActivity } from '../store/account/activity.ts'
import type { LastChange } from './outdated-form.ts'

/** How many of the account's newest changes are searched. */
const maxLooked = 50

/**
 * Returns the newest change to any of these fields. Only calls with an argument that equals a segment of the path, such
 * as an id or alias, are searched. Undefined if the searched changes do not include it.
 */
export async function lastChange(
  { read, deps }: AccountStore,
  path: string,
  fields: readonly string[],
  timeZone: string,
): Promise<LastChange | undefined> {
  const named = path.split('/').slice(4).map(decodeURIComponent)
  const rows = await read.activity.list({ isChange: true, outcome: 'ok', limit: maxLooked })
  const found = rows.find(({ arguments: input }) => {
    const { changed, ...others }: Record<string, unknown> = JSON.parse(input)
    const mentions = Object.values(others).some((value) =>
      typeof value === 'string' && named.includes(value.replace(/^[@#]/, ''))
    )
    return mentions && Object.keys(Object(changed)).some((name) => fields.includes(name))
  })
  return found && { who: whoIn(found), when: timeInWords(found.createdAt, deps.now(), timeZone) }
}

function whoIn({ userName, userEmail, keyName, agentAlias, actorType }: ListedActivity): string {
  if (actorType === 'system') return 'The operator'
  return userName || userEmail || (keyName && `The key ${keyName}`) || (agentAlias && `@${agentAlias}`) || 'A program'
}
