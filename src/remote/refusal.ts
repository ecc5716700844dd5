/** A remote agent refused a request, so repeating it is of no use. The message is for the sender. */
export class RemoteRefusal extends Error {}
