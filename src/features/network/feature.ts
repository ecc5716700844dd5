/** A page that shows who sends messages to whom. See docs/web.md, "Network". */
import type { Feature } from '../../feature.ts'
import type { Route } from '../../request-context.ts'
import { servedAsset } from '../../web/assets.ts'
import { script, style } from './assets.ts'
import { networkPages } from './pages.tsx'

export const network: Feature = {
  name: 'network',
  routes: () =>
    [script, style].map(servedAsset).map(({ path, answer }) => ['GET', path, (c) => answer(c.req.raw)] satisfies Route),
  web: {
    pages: networkPages,
    section: { name: 'network', title: 'Network', key: 'n', after: 'attention' },
  },
}
