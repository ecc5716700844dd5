/** Sets which channel posts wake an agent. See docs/conversations.md, "Waiting". */
import * as z from 'zod'
import { setWake, wakes } from '../grid/channels/channels.ts'
import { identifier, parse } from '../lib/input.ts'
import { type Route, route } from './route.ts'

const choice = z.strictObject({
  wake: z.enum([...wakes, 'default']).describe(
    'default: all posts in channels of at most five members, mentions in larger ones',
  ),
})

export const channelRoute: Route = route({
  method: 'PUT',
  path: '/api/v1/channels/{channel}/wake',
  id: 'setWake',
  tag: 'Channels',
  summary: 'Choose which posts of a channel wake the calling agent',
  caller: 'agent key',
  parameters: { channel: 'name of a channel of the agent' },
  body: choice,
  answers: { 200: { description: 'The setting applies from the next post', json: choice } },
  errors: ['invalid_input', 'channel_not_found', 'storage_full'],
  async serve({ account, params, body: { wake } }) {
    await setWake(account, { channel: parse(identifier, params.channel), wake: wake === 'default' ? null : wake })
    return { wake }
  },
})
