import type { operations } from '@plainpath/metadata'

/** An example call of `packages/client` for each operation that it supports. The reader supplies `id`, `email` and `code`. */
export const CLIENT_EXAMPLES: Readonly<Partial<Record<keyof typeof operations, string>>> = {
  listGuides: "await plainpath.search('work permit')",
  getGuide: "await plainpath.guide('work-permit')",
  answerQuestion:
    "await plainpath.ask('When do I renew my green card?', { facts: { 'long-absence': true } })",
  sendContactMessage:
    "await plainpath.sendMessage({ topic: 'question', message: 'My work permit ends in March. When do I renew it?' })",
  getContactMessage: 'await plainpath.messageStatus(id)',
  deleteContactMessage: 'await plainpath.withdraw(id)',
  registerAgent: "await plainpath.register({ client_name: 'Example Agent' })",
  deleteAgent: 'await plainpath.deleteRegistration()',
  beginClaim: 'await plainpath.beginVerification(email)',
  completeClaim: 'await plainpath.completeVerification(code)',
}
