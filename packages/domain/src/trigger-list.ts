import { z } from 'zod'
import { Link } from './answer.ts'
import { TriggerId, URGENCIES } from './trigger.ts'

const ListedTrigger = z.object({
  id: TriggerId.meta({ description: 'Its name in `facts` of `POST /api/answers`.' }),
  urgency: z.enum(URGENCIES),
  why: z.string().min(1).meta({ description: 'Why an attorney is needed.' }),
  ask: z.string().min(1).meta({ description: 'The yes-or-no question that decides whether it applies.' }),
  source: Link,
  version: z.string().min(1).meta({ description: 'Changes with every change of the trigger.' }),
})

/** The response of `GET /triggers`. */
export const TriggerList = z.object({
  triggers: z.array(ListedTrigger).meta({ description: 'The most urgent first.' }),
})
export type TriggerList = z.infer<typeof TriggerList>
