<?php
// Says never again, by a class of the team's own.
final class RejectJob extends RuntimeException
{
}
