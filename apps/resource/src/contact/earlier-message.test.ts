import { generateHashKey, parseHashKey } from '@plainpath/sealing'
import { expect, test } from 'vitest'
import type { NewMessage } from './contact-message.ts'
import { hashContent } from './earlier-message.ts'

test('hashContent returns the same hash for equal content, and another hash for another key or author', () => {
  const key = parseHashKey(generateHashKey())
  const otherKey = parseHashKey(generateHashKey())
  const message: NewMessage = {
    id: '1',
    topic: 'question',
    text: 'When?',
    guideSlug: null,
    triggers: [],
    agentDomain: null,
    replyTo: 'ana@example.org',
    createdAt: new Date(0),
  }
  const hash = hashContent(key, { registrationId: 'reg_1' }, message)
  expect(hashContent(key, { registrationId: 'reg_1' }, { ...message, id: '2' })).toEqual(hash)
  expect(hashContent(otherKey, { registrationId: 'reg_1' }, message)).not.toEqual(hash)
  expect(hashContent(key, { registrationId: 'reg_2' }, message)).not.toEqual(hash)
})
