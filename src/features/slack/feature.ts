/** Channels that are mirrored to Slack. See docs/slack.md, "Slack". */
import type { Feature } from '../../feature.ts'
import { endMirror, slackEventsPath } from './connect.ts'
import { mirrorToSlack } from './deliver.ts'
import { notices, phrases, slackCard, slackPages } from './pages.tsx'
import { slackEvents } from './receive.ts'
import { slackTables } from './store.ts'

export const slack: Feature = {
  name: 'slack',
  routes: (store) => [['POST', slackEventsPath(':id'), slackEvents(store)]],
  web: {
    pages: slackPages,
    cards: { channel: slackCard },
    notices: Object.values(notices),
    phrases,
  },
  transport: mirrorToSlack,
  hooks: {
    channelEnd: endMirror,
    programOf: (account, { channelId, agentId }) => account.feature(slackTables).read.programOf(channelId, agentId),
  },
}
