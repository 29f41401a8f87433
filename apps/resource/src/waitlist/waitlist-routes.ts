import { defineRoute, type Route } from '@plainpath/http'
import { operations, type ServiceUrls } from '@plainpath/metadata'
import { LIMITS } from '../limits.ts'
import { answerJoin } from './answer-join.ts'
import type { JoinWaitlist } from './join-waitlist.ts'

export function waitlistRoutes(deps: { joinWaitlist: JoinWaitlist; urls: ServiceUrls }): Route[] {
  const joinAs = answerJoin(deps)
  const join = defineRoute({
    ...operations.joinWaitlist,
    limits: LIMITS.waitlist,
    async handle({ body, request }) {
      const answer = await joinAs(body, request)
      return answer.status === 'joined' ? { status: 201, body: answer } : { status: 200, body: answer }
    },
  })
  return [join]
}
