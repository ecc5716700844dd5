/** Incoming hooks: addresses to which external programs post messages. See docs/protocol/incoming.md. */
import type { Feature } from '../../feature.ts'
import { incomingPath } from './hooks.ts'
import { hookPages, hooksSubject, phrases } from './pages.tsx'
import { incomingPost } from './receive.ts'

export const incoming: Feature = {
  name: 'incoming',
  routes: (store, refusedKeys) => [['POST', incomingPath, incomingPost(store, refusedKeys)]],
  web: { pages: hookPages, accountSubjects: [hooksSubject], phrases },
}
