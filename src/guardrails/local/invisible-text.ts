/** Finds invisible text. */
import { provider } from '../provider.ts'

export const invisibleText = provider({
  id: 'invisible-text',
  name: 'Invisible text',
  kind: 'local',
  description:
    'Finds Unicode tags, bidirectional controls and zero-width characters. The grid removes them before any check, so it finds those alone that a script or an emoji needs.',
  config: {},
  prepare: () => () => ({ kinds: [] }),
})
