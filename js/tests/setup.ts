// Preact runs effects after a frame, with a timer behind it in case no frame comes. That timer can
// outlive the test's window. Here effects run as soon as the current step is over.
import { options } from "preact";

(options as { requestAnimationFrame?: (effects: () => void) => void }).requestAnimationFrame = queueMicrotask;
