import type { operations } from './openapi-types.ts'

/** The JSON request body of an operation. */
type Body<Id extends keyof operations> = operations[Id] extends {
  requestBody?: { content: { 'application/json': infer Json } }
}
  ? Json
  : never

type Responses<Id extends keyof operations> = operations[Id]['responses']

/** The successful response of an operation. */
type Result<Id extends keyof operations> = {
  [Status in keyof Responses<Id>]: Status extends 200 | 201 | 202
    ? Responses<Id>[Status] extends { content: { 'application/json': infer Json } }
      ? Json
      : never
    : never
}[keyof Responses<Id>]

export type Answer = Result<'answerQuestion'>
/** The person's statements, by trigger. */
export type Facts = NonNullable<Body<'answerQuestion'>['facts']>
export type Guide = Result<'getGuide'>
export type FoundGuide = Result<'listGuides'>['guides'][number]
/** The registration request of an agent. The client adds `jwks` if it has keys. */
export type Registration = Pick<Body<'registerAgent'>, 'client_name'>
export type RegisteredAgent = Pick<Result<'registerAgent'>, 'client_id'> & { client_secret?: string }
export type BegunVerification = Result<'beginClaim'>
export type Assertion = Result<'createAssertion'>
export type Token = Result<'createToken'>
export type Message = Body<'sendContactMessage'>
export type ReceivedMessage = Result<'sendContactMessage'>
export type MessageState = Result<'getContactMessage'>
