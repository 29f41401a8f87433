import type { operations } from './openapi-types.ts'

/** The JSON body of an operation's request. */
type RequestBody<Id extends keyof operations> = operations[Id] extends {
  requestBody?: { content: { 'application/json': infer Json } }
}
  ? Json
  : never

type Responses<Id extends keyof operations> = operations[Id]['responses']

/** The JSON body of an operation's successful response. */
type SuccessBody<Id extends keyof operations> = {
  [Status in keyof Responses<Id>]: Status extends 200 | 201 | 202
    ? Responses<Id>[Status] extends { content: { 'application/json': infer Json } }
      ? Json
      : never
    : never
}[keyof Responses<Id>]

export type Answer = SuccessBody<'answerQuestion'>
/** What the person stated, by trigger, such as answers to check questions. */
export type Facts = NonNullable<RequestBody<'answerQuestion'>['facts']>
export type Guide = SuccessBody<'getGuide'>
export type FoundGuide = SuccessBody<'listGuides'>['guides'][number]
/** The registration request of an agent. The client adds `jwks` if it has keys. */
export type Registration = Pick<RequestBody<'registerAgent'>, 'client_name'>
export type RegisteredAgent = Pick<SuccessBody<'registerAgent'>, 'client_id'> & { client_secret?: string }
export type BegunVerification = SuccessBody<'beginClaim'>
export type Assertion = SuccessBody<'createAssertion'>
export type Token = SuccessBody<'createToken'>
export type Message = RequestBody<'sendContactMessage'>
export type ReceivedMessage = SuccessBody<'sendContactMessage'>
export type MessageState = SuccessBody<'getContactMessage'>
